SELECT t.name FROM teacher t JOIN student s ON t.id = s.advisor JOIN takes k ON k.student = s.stu_id JOIN course c ON c.dept = k.dept WHERE c.title = 'x'
