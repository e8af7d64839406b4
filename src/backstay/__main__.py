"""`python -m backstay` is the command `backstay`."""

from backstay.cli.main import main

main()
