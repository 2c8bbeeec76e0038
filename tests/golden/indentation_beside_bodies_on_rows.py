# Bodies on the row of their `if` tell nothing of the indentation.
def save(cookies, file, discards, expires):
    for cookie in cookies:
        domain = cookie.domain
        if not discards and cookie.discard:
            continue
        if not expires and cookie.is_expired():
            continue
        if cookie.secure: secure = 'TRUE'
        else: secure = 'FALSE'
        if domain.dotted(): dot = 'TRUE'
        else: dot = 'FALSE'
        file.write(domain, dot, secure)
