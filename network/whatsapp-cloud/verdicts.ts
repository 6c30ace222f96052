/** The meaning of each error code of the network for us, by code and never by title (support/error-codes). */

/**
 * `defer`: the network did not take the message and may take it later; it holds back the chat or the whole account.
 * `refuse`: it never will. `end`: it no longer takes the credentials, and a person has to act.
 */
export interface Verdict {
  does: 'defer_chat' | 'defer_account' | 'refuse' | 'end';
  /** Stable snake_case. */
  reason: string;
  /** The restriction that the code means for the account, beyond this message. */
  restriction?: string;
  /** Before the first repeat, and the factor of each further one. */
  firstMs?: number;
  factor?: number;
}

const rate: Verdict = { does: 'defer_account', reason: 'rate_limited', firstMs: 1_000, factor: 2 };
const passing: Verdict = { does: 'defer_chat', reason: 'network_unavailable', firstMs: 5_000, factor: 1 };
const spam: Verdict = {
  ...{ does: 'defer_account', reason: 'spam_limited', restriction: 'spam_limited' },
  ...{ firstMs: 120_000, factor: 2 },
};
const end = (reason: string): Verdict => ({ does: 'end', reason });
const refuse = (reason: string): Verdict => ({ does: 'refuse', reason });
const limited = (restriction: string): Verdict => ({ ...refuse(restriction), restriction });

const VERDICTS: Readonly<Record<number, Verdict>> = {
  // 17 and 341 are of the Graph API as a whole.
  ...{ 4: rate, 17: rate, 341: rate, 80007: rate, 80008: rate, 130429: rate },
  131056: { does: 'defer_chat', reason: 'pair_rate_limited', firstMs: 4_000, factor: 4 },
  ...{ 1: passing, 2: passing, 131000: passing, 131016: passing, 131057: passing, 133015: passing },
  ...{ 0: end('token_refused'), 102: end('token_refused'), 190: end('token_refused') },
  ...{ 3: end('permission_missing'), 10: end('permission_missing'), 131005: end('permission_missing') },
  // The number has been deleted.
  33: end('permission_missing'),
  ...{ 368: limited('account_restricted'), 131031: limited('account_restricted') },
  130497: refuse('country_barred'),
  131042: limited('payment_required'),
  ...{ 131048: spam, 131064: spam },
  131049: refuse('marketing_limited'),
  130472: refuse('recipient_in_experiment'),
  131050: refuse('recipient_opted_out'),
  131026: refuse('undeliverable'),
  131021: refuse('recipient_is_sender'),
  131030: refuse('recipient_not_allowed'),
  131062: refuse('recipient_without_phone'),
  131047: refuse('window_closed'),
  131052: refuse('media_download_failed'),
  131053: refuse('media_upload_failed'),
  ...{ 100: refuse('invalid_message'), 131008: refuse('invalid_message'), 131009: refuse('invalid_message') },
  131051: refuse('unsupported_message'),
  ...{ 132000: refuse('template_wrong'), 132001: refuse('template_not_found') },
  ...{ 132005: refuse('template_wrong'), 132007: refuse('template_wrong'), 132008: refuse('template_wrong') },
  ...{ 132012: refuse('template_wrong'), 132018: refuse('template_wrong') },
  ...{ 132015: refuse('template_paused'), 132016: refuse('template_disabled') },
  ...{ 132068: refuse('flow_blocked'), 132069: refuse('flow_throttled') },
  ...{ 133005: end('number_pin_wrong'), 133006: end('number_not_verified'), 133009: end('number_pin_wrong') },
  ...{ 131045: end('number_not_registered'), 133010: end('number_not_registered') },
  133016: end('number_registered_too_often'),
};

/** With code 100: the object that the path names is not there, or not for this token. */
const NO_SUCH_OBJECT = 33;

/**
 * `subcode`: where the path named the number. A code that is not known is a refusal, and its words are kept out: they may
 * name people.
 */
export function verdictOf(code: number, subcode?: number): Verdict {
  if (code >= 200 && code <= 299) return end('permission_missing');
  if (code === 100 && subcode === NO_SUCH_OBJECT) return end('permission_missing');
  return VERDICTS[code] ?? refuse('refused_by_network');
}

/** How long to wait before the next try, after `failures` of the same kind in a row. At most five minutes. */
export function backOffMs({ firstMs = 5_000, factor = 1 }: Verdict, failures: number): number {
  return Math.min(300_000, firstMs * factor ** Math.min(failures, 20));
}
