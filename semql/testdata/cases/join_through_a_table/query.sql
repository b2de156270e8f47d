SELECT c.title FROM student AS s JOIN takes AS k ON s.stu_id = k.student JOIN course AS c ON k.dept = c.dept WHERE s.name = 'x'
