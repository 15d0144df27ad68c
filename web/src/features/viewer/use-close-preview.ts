import { useEffect, useRef } from 'preact/hooks';
import { useRouter } from '../models.ts';

/** Returns a function that closes the preview. Repeated calls have no effect: going back takes a moment. */
export function useClosePreview(path: string): () => void {
  const router = useRouter();
  const left = useRef<string | null>(null);
  useEffect(() => {
    left.current = null;
    // A dialog that is already removed must not close another preview.
    return () => {
      left.current = path;
    };
  }, [path]);
  return () => {
    if (left.current === path || router.route.peek().preview === null) return;
    left.current = path;
    router.closePreview();
  };
}
