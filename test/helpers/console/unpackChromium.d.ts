/** Unpacks the Chromium of the package @sparticuz/chromium, once for this installation of packages; returns the folder. */
export function unpackChromium(): Promise<string>;
