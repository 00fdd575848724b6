"""The commands: each reads its input, calls the library and prints the result.

The library is imported inside the commands, so that `apptek --help` does not wait for pyarrow,
numba or torch.
"""

import os

# Of no use to the kernels here. Each thread of it takes memory, and a process whose memory is
# limited may wait for it for ever. It must be set before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
