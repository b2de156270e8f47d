SELECT T1.title FROM course AS T1 JOIN takes AS T2 ON T1.dept = T2.dept AND T1.number = T2.number WHERE T2.grade = 1
