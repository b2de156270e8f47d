SELECT `Home Town`, [school_year] FROM 'student' WHERE "Home Town" = "Mill Valley"
