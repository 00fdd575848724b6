"""The commands: each reads its input, calls the library and prints the result.

The library is imported inside the commands, so that `apptek --help` does not wait for pyarrow,
numba or torch.
"""

import os

# The kernels here do not use it. Each of its threads takes memory, and a process with limited
# memory may wait for it for ever. It must be set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
