// Light or dark: as the system has it, or as the reader chose.

const THEMES = ["auto", "light", "dark"];

/** Let a button go through the themes; the choice is kept where the browser allows it. */
export function followTheme(button) {
  show(button, kept());
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme;
    const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    show(button, next);
    try {
      localStorage.setItem("theme", next);
    } catch {
      // a browser that keeps nothing shows the theme until the page is closed
    }
  });
}

function kept() {
  try {
    const theme = localStorage.getItem("theme");
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}

function show(button, theme) {
  document.documentElement.dataset.theme = theme;
  button.textContent = `◐ ${theme}`;
  button.ariaLabel = `Theme: ${theme}`;
}
