/** Puts a text into the clipboard, and says whether it is there. */
export async function copyText(text: string): Promise<boolean> {
  const { clipboard } = navigator as { clipboard?: Clipboard };
  // Under plain http a browser offers it on localhost alone.
  if (!clipboard) return copySelected(text);
  return clipboard.writeText(text).then(
    () => true,
    () => copySelected(text),
  );
}

/** The older way, which copies whatever is selected. */
function copySelected(text: string): boolean {
  const before = document.activeElement;
  const field = document.createElement('textarea');
  field.value = text;
  // Within a dialog, which keeps the focus to itself.
  (before?.closest('[role=dialog]') ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return isCopied;
}
