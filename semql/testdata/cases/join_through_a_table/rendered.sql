SELECT T1.title FROM course AS T1 JOIN takes AS T2 ON T1.dept = T2.dept AND T1.number = T2.number JOIN student AS T3 ON T2.student = T3.stu_id WHERE T3.name = 'x'
