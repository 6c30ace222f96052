/** Gives the JWT of each request, and another one when the service no longer takes it. */
export interface TokenSource {
  token(): Promise<string>;
  /** `rejected` is the token that the service refused; another call may have renewed it meanwhile. */
  renew(rejected: string): Promise<string>;
}
