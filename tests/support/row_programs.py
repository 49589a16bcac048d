"""Programs whose definitions share rows."""

SOFTMAX = """\
m[i] = max[j](x[i, j])
e[i, j] = exp(x[i, j] - m[i])
s[i] = sum[j](e[i, j])
y[i, j] = e[i, j] / s[i]"""
LAYER_NORM = """\
m[i] = sum[k](x[i, k]) / 5
v[i] = sum[k]((x[i, k] - m[i])**2) / 5
y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 1e-3) * g[j] + b[j]"""
