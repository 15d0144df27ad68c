import { completeLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useDragging } from './dragging.ts';

/**
 * Shows the destination of a drop, or why the drop would fail. The code loads when the first drag begins. If that fails,
 * drops still work.
 */
export function LazyDropHint() {
  const dragging = useDragging();
  const language = useLanguageSignal();
  const isActive = dragging.kind.value !== null;
  const loaded = useLoaded(
    async () => (isActive ? Promise.all([import('./drop-hint.tsx'), completeLanguage(language)]) : undefined),
    [isActive],
  );
  const [hint] = (loaded.state === 'ready' && loaded.value) || [];
  return hint ? <hint.DropHint /> : null;
}
