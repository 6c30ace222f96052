/** The service writes a nonce into the page; the policy allows the styles that carry it. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}
