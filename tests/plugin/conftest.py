"""The suite is a project of its own: it is run by test_suite.py, with settings of its own."""

collect_ignore = ["suite"]
