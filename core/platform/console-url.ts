/** Where messaging serves the console: `/console` below its public URL, whose path may end with a slash. */
export function consoleUrl(publicUrl: string): URL {
  return new URL('console', publicUrl.endsWith('/') ? publicUrl : `${publicUrl}/`);
}
