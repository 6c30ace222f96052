export type Tone = 'good' | 'busy' | 'idle' | 'warn' | 'bad';

/** Only the dot before the label has the colour of the tone, so that the text keeps its contrast in both themes. */
export function StateBadge({ tone, label }: { tone: Tone; label: string }) {
  return (
    <span className="state-badge" data-tone={tone}>
      {label}
    </span>
  );
}
