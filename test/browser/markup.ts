/** What would do something if it came into the page as anything but text. */
export const markup = `<img src=x onerror="alert(document)"></script><script>alert(window)</script>" onfocus="alert(name) javascript:alert(self)`;
