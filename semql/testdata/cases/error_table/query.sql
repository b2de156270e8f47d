SELECT name
FROM pupil
