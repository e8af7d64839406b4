"""The ground: types, errors, events, context, schema. No I/O."""
