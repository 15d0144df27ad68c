/** The drawings of states, in lines of a box of 120 by 80. The lines of `faint` are paler. */
const DRAWINGS = {
  /** An open folder. */
  empty: {
    lines: [
      'M25 68V23a5 5 0 0 1 5-5h19l8 8h32a5 5 0 0 1 5 5v7',
      'M25 68l10-27a5 5 0 0 1 5-3h61a4 4 0 0 1 4 5l-9 24a5 5 0 0 1-5 4H28a3 3 0 0 1-3-3z',
    ],
    faint: ['M60 4v6M40 6l3 5M80 6l-3 5'],
  },
  /** A magnifying glass. */
  search: {
    lines: ['M54 58a22 22 0 1 1 0-44 22 22 0 0 1 0 44z', 'M70 52l20 20'],
    faint: ['M45 36h18', 'M18 24l6 3M22 56l5-4M86 20l6-3'],
  },
  /** A folder with dashed lines. */
  missing: {
    lines: ['M26 66V22a5 5 0 0 1 5-5h20l8 9h30a5 5 0 0 1 5 5v35a5 5 0 0 1-5 5H31a5 5 0 0 1-5-5z'],
    faint: ['M53 42c0-9 14-9 14 0 0 6-7 5-7 11M60 60v.5', 'M12 34l6 3M108 34l-6 3'],
  },
  /** A closed lock. */
  denied: {
    lines: [
      'M40 38h40a5 5 0 0 1 5 5v24a5 5 0 0 1-5 5H40a5 5 0 0 1-5-5V43a5 5 0 0 1 5-5z',
      'M46 38V26c0-18 28-18 28 0v12',
    ],
    faint: ['M60 52v7', 'M20 30l6 3M100 30l-6 3M22 60h6M98 60h-6'],
  },
  /** A cloud with a line through it. */
  unreachable: {
    lines: ['M42 62a14 14 0 0 1-2-28 21 21 0 0 1 41-3 16 16 0 0 1-1 31z', 'M32 12l56 60'],
    faint: ['M14 40h8M98 40h8M60 4v5'],
  },
} as const satisfies Readonly<Record<string, { lines: readonly string[]; faint: readonly string[] }>>;

export type DrawingName = keyof typeof DRAWINGS;

/** A picture of a state. Screen readers ignore it, so its meaning must also be in words. */
export function Drawing({ of }: { of: DrawingName }) {
  const { lines, faint } = DRAWINGS[of];
  return (
    <svg class={`drawing ${of}`} viewBox="0 0 120 80" aria-hidden="true">
      {lines.map((line) => (
        <path key={line} d={line} />
      ))}
      {faint.map((line) => (
        <path key={line} class="faint" d={line} />
      ))}
    </svg>
  );
}
