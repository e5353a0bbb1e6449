"""Making a small encoder out of a large one: the bundled encoder, from scratch."""
