"""The commands: each reads its input, calls one function of the library and prints the result.

The library is imported inside the commands, so that `apptek --help` does not wait for pyarrow,
numba or torch.
"""
