"""Whether the tests of the boundary would notice a mistake: `make mutants`. Source: SPEC section 4.

One small change at a time is made to a module of the boundary, a *mutant*, and the near tests that run the changed line
must fail. What survives is a missing test, or changes nothing that can be seen; the latter are listed in
`explained.toml` with the reason.
"""
