/** An amount in the smallest unit of its currency as money: cents for most, whole yens, thousandths of a dinar. */
export function moneyText(units: number, currency: string, language: string): string {
  const format = new Intl.NumberFormat(language, { style: 'currency', currency });
  return format.format(units / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}
