/** A URL of the settings without the slashes at its end, for paths to be put behind it. */
export function withoutTrailingSlashes(url: string): string {
  // A loop: `/\/+$/` takes quadratic time on many slashes that something follows.
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
}
