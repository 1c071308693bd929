/** Unpacks Chromium from @sparticuz/chromium once per installation; returns the folder. */
export function unpackChromium(): Promise<string>;
