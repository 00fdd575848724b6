"""The commands: each reads its input, calls the library and prints the result.

The library is imported inside the commands, so that `apptek --help` does not wait for pyarrow,
numba or torch.
"""

import os

# APPTeK's kernels do not use OpenBLAS. Each OpenBLAS thread takes memory, and a process with
# limited memory may wait for that memory forever. Set the limit before numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
