import './controls.css';

interface ProgressBarProps {
  /** The accessible name. */
  label: string;
  /** From 0 to 1; null while the progress is unknown. */
  part: number | null;
}

export function ProgressBar({ label, part }: ProgressBarProps) {
  const percent = part === null ? undefined : Math.min(99, Math.floor(part * 100));
  return (
    <div
      class={`progress-bar ${part === null ? 'unknown' : ''}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div style={part === null ? undefined : { inlineSize: `${part * 100}%` }} />
    </div>
  );
}
