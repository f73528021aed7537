"""From the trees of the ensemble to the light parser."""
