/* The page of firn view, page.html beside this file, with a NUL behind it. The build makes it a constant. */
#ifndef FIRN_RENDER_VIEW_PAGE_H
#define FIRN_RENDER_VIEW_PAGE_H

extern const unsigned char view_page[];

#endif
