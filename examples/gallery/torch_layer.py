"""
A layer of one's own in PyTorch
===============================

A dilation of an image adds weights to a window and takes the largest, where a convolution would
multiply and add up. PyTorch has no such layer. In the language of tadc it is a line, and
`tadc.torch.op` makes an operation of it: with gradients, in a module, under `torch.compile`.
"""

import time

import matplotlib.pyplot as plt
import torch

import tadc.torch

# %%
# The layer
# ---------
# Its gradient goes to the largest terms of each window, and no tensor of all windows is made.

dilate = tadc.torch.op("y[b, i, j] = max[k, l](x[b, i + k, j + l] + w[k, l])")
print(dilate.function.derivative("w"))


class Dilation(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(size, size))

    def forward(self, x):
        return dilate(x=x, w=self.w)


# %%
# A second way to the same numbers
# --------------------------------
# PyTorch can cut out all windows, and take the largest element of each.


def by_windows(x, w):
    return (x.unfold(1, len(w), 1).unfold(2, len(w), 1) + w).amax((3, 4))


torch.manual_seed(0)
x, w = torch.randn(16, 64, 64), torch.randn(7, 7)


def gradients(function):
    inputs = [x.clone().requires_grad_(), w.clone().requires_grad_()]
    return torch.autograd.grad(function(*inputs).square().sum(), inputs)


def ours(x, w):
    return dilate(x=x, w=w)


torch.testing.assert_close(ours(x, w), by_windows(x, w))
for found, expected in zip(gradients(ours), gradients(by_windows), strict=True):
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)


def milliseconds(function):
    start = time.perf_counter()
    gradients(function)
    return 1e3 * (time.perf_counter() - start)


times = torch.tensor([[milliseconds(ours), milliseconds(by_windows)] for _ in range(10)])
print("value and gradients: {:.1f} ms, by windows {:.1f} ms".format(*times.amin(0)))

# %%
# Train
# -----
# Images come with their dilations by a shape that nobody tells. The layer finds it, compiled with
# all that is around it: `fullgraph=True` would complain if it left the graph.

radius = torch.linspace(-1, 1, 7)[:, None].hypot(torch.linspace(-1, 1, 7))
truth = -3 * (radius - 0.6).abs()
model = Dilation(7)
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
STEPS = 300
optimizer = torch.optim.Adam(model.parameters(), 0.1)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.01, total_iters=STEPS)
losses = []
for _ in range(STEPS):
    images = torch.randn(16, 32, 32)
    loss = (compiled(images) - by_windows(images, truth)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
found = model.w.detach()
print(f"loss {losses[0]:.2f} at first, {losses[-1]:.1e} in the end")
assert losses[-1] < 0.1 * losses[0]

# %%
# Weights that never win a window cannot be seen in the result: they stay low, and no more is known.

figure, panels = plt.subplots(1, 4, figsize=(10, 2.6), layout="constrained")
limits = {"vmin": truth.min().item(), "vmax": truth.max().item()}
panels[0].imshow(truth.numpy(), **limits)
panels[1].imshow(found.numpy(), **limits)
image = torch.zeros(1, 40, 40)
image[0, [10, 18, 30], [12, 30, 16]] = 8
panels[2].imshow(dilate(x=image, w=found)[0].numpy())
panels[3].semilogy(losses)
for panel, title in zip(panels, ("truth", "found", "three points, dilated", "loss"), strict=True):
    panel.set_title(title)
plt.show()
