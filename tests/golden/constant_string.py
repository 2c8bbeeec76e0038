# Strings and bytes: quotes, escapes, non-ASCII and lone surrogates.
def f():
    x = ''
    x = 'plain'
    x = "it's"
    x = '"quoted"'
    x = 'it\'s "both"'
    x = 'tab\tnewline\nreturn\rback\\slash'
    x = '\x00\x07\x1b\x7f'
    x = 'café 日本語 🐍'
    x = '\xa0\u200b\u2028\ufeff'
    x = '\ud800 \udc80'
    x = b''
    x = b'plain'
    x = b"it's"
    x = b'\x00\xff\\\n'
    return x
