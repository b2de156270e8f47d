SELECT dept FROM takes GROUP BY dept HAVING count(*) > 5 AND max(dept) > 'M' AND avg(grade) < 3.5
