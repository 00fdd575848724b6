"""The commands, by room: each reads, calls one library function and prints.

Rooms are imported inside the commands, so that `apptek --help` does not wait for pyarrow, numba
or torch.
"""
