"""History: what clients did and saw, and what a log promises them. For any log, not only this one.

    history        every call that ended, and every one that did not
    history_lines  a history as JSON lines; docs/HISTORY.md is the format
    history_file   written while the calls are made, and read
    checks/        `delivery.judge`: lost, duplicated, reordered, invented records, each with proof

`tidelog check FILE` runs the checks. Imports: `core`.
"""
