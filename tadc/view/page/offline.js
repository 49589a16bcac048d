// The site without a network: after the first visit, all of it comes from the browser's own store.
// VERSION and FILES are written when the site is built; a new version takes over once all pages of
// the old one are closed, so that no page sees files of both.

const VERSION = "";
const FILES = [];
const STORE = `tadc-${VERSION}`;

addEventListener("install", (event) => {
  event.waitUntil(caches.open(STORE).then((store) => store.addAll(FILES)));
});

addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("tadc-") && name !== STORE;
  const clear = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter(old).map((name) => caches.delete(name)));
    await clients.claim();
  };
  event.waitUntil(clear());
});

addEventListener("fetch", (event) => {
  const answer = async () => {
    const store = await caches.open(STORE);
    return (await store.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  if (event.request.method === "GET") event.respondWith(answer());
});
