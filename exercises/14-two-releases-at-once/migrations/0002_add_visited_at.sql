-- The time of the first visit. As long as an earlier release may run, a visit is noted in both columns.

-- TODO: give up soon, add the column, and have a trigger keep both columns in step.
