import { signal } from '@preact/signals';
import { createRequiredContext } from '../../platform/required-context.ts';
import type { Dragging, DraggingOptions, DragState } from './drag-state.ts';

export const [useDragging, DraggingProvider] = createRequiredContext<Dragging>('dragging');

/**
 * Creates the state of drags, and loads the code that handles them right after the page. Until then, nothing can be
 * dragged, and the browser doesn't open dropped files in place of the page.
 */
export function createDragging(options: DraggingOptions): Dragging {
  const state: DragState = {
    kind: signal(null),
    target: signal(null),
    rejection: signal(null),
    count: signal(0),
    isCopy: signal(false),
  };
  const waiting = new AbortController();
  const { signal: isWaiting } = waiting;
  let loading: Promise<void> | undefined;
  const attach = async () => {
    const { handleDrags } = await import('./drag-events.ts');
    waiting.abort();
    handleDrags(options, state);
  };
  /** Loads the code. An attempt that failed is repeated with the next press or drag. */
  const load = () => {
    loading ??= attach().catch(() => {
      loading = undefined;
    });
  };
  for (const type of ['dragstart', 'dragover', 'drop'] as const) {
    document.addEventListener(type, refuse, { signal: isWaiting });
  }
  for (const type of ['pointerdown', 'dragenter'] as const)
    document.addEventListener(type, load, { signal: isWaiting });
  setTimeout(load);
  return state;
}

function refuse(event: DragEvent): void {
  if (event.type !== 'dragstart' && !event.dataTransfer?.types.includes('Files')) return;
  if (event.type === 'dragover' && event.dataTransfer) event.dataTransfer.dropEffect = 'none';
  event.preventDefault();
}
