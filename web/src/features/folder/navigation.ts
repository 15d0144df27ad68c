/** How the entries lie: `count` of them in rows of `columns`, of which `rowsInSight` can be seen. */
export interface Layout {
  readonly count: number;
  readonly columns: number;
  readonly rowsInSight: number;
  readonly isRightToLeft: boolean;
}

/** Where a key leads from the entry at `index` (-1: from none); undefined for keys that lead nowhere. */
export function targetOf(key: string, index: number, layout: Layout): number | undefined {
  const { count, columns, rowsInSight } = layout;
  const step = stepOf(key, layout);
  if (count === 0) return undefined;
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (step === undefined) return undefined;
  if (index < 0) return step > 0 ? 0 : count - 1;

  const target = index + step;
  if (target >= 0 && target < count) return target;
  if (Math.abs(step) < columns) return index;
  // Out of the last row: to its last entry, unless one is in that row already. By pages: to the first or last row.
  const isPage = key.startsWith('Page') && rowsInSight > 1;
  if (step > 0) {
    const isInLastRow = Math.floor(index / columns) === Math.floor((count - 1) / columns);
    return isInLastRow ? index : count - 1;
  }
  return isPage ? index % columns : index;
}

function stepOf(key: string, { columns, rowsInSight, isRightToLeft }: Layout): number | undefined {
  const forward = isRightToLeft ? -1 : 1;
  const page = Math.max(1, rowsInSight - 1) * columns;
  switch (key) {
    case 'ArrowDown':
      return columns;
    case 'ArrowUp':
      return -columns;
    case 'ArrowRight':
      return columns > 1 ? forward : undefined;
    case 'ArrowLeft':
      return columns > 1 ? -forward : undefined;
    case 'PageDown':
      return page;
    case 'PageUp':
      return -page;
    default:
      return undefined;
  }
}
