/** What a company without a subscription may have; a plan writes other numbers into its row (LIM-4). */
export const FREE_LIMITS = Object.freeze({
  instances: 5,
  users: 5,
  webhooks: 10,
  storageMb: 1024,
});
