SELECT k.student FROM takes k JOIN student s ON k.student = s.stu_id WHERE s.age = 20 AND k.grade = 1
