SELECT t.id, t.name, count(*) FROM teacher t JOIN student s ON t.id = s.advisor GROUP BY t.id
