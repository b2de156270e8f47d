SELECT c.title FROM course c JOIN takes k ON c.dept = k.dept AND c.number = k.number WHERE k.grade = 1
