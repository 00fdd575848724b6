"""Features and scores of many queries, made by several processes or machines.

The facts are put into parts by entity (parts.py). All six families of a query lie among the facts
of its two entities, so that two parts at a time are enough (parted_space.py). A task is a stretch
of the queries, ordered by their parts; it leaves one file (tasks.py). Local processes or the
workers of Ray do the tasks (runners.py); engine.py puts it all together.
"""
