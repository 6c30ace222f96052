/** The limits of a company without a subscription; a plan writes other numbers into the company's row (LIM-4). */
export const FREE_LIMITS = Object.freeze({
  instances: 5,
  users: 5,
  webhooks: 10,
  storageMb: 1024,
});
