import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { usePage } from '../page.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';

/** How many items a folder has: known of the one that is shown, counted on demand of another. */
export function ItemCount({ folder: path }: { folder: string }) {
  const { folder } = usePage();
  const { text } = useFullLanguage();
  const isKnown = folder.path.value === path && folder.state.value === 'ready';
  if (!isKnown) return <CountedItems folder={path} />;
  const count = folder.count.value;
  return (
    <span class="numbers">
      {folder.listing.value === 'complete' ? text.folder.items({ count }) : text.folder.loadingMore({ count })}
    </span>
  );
}

type Counting =
  | { readonly state: 'unasked' }
  | { readonly state: 'counting' | 'counted'; readonly count: number }
  | { readonly state: 'failed'; readonly problem: ServiceError };

function CountedItems({ folder }: { folder: string }) {
  const { service } = usePage();
  const language = useFullLanguage();
  const { text } = language;
  const [counting, setCounting] = useState<Counting>({ state: 'unasked' });
  const isCounting = counting.state === 'counting';

  useEffect(() => {
    if (!isCounting) return undefined;
    const aborting = new AbortController();
    const count = async () => {
      let items = 0;
      let cursor: string | undefined;
      do {
        const page = await service.list(folder, { cursor, signal: aborting.signal });
        items += page.entries.length;
        cursor = page.cursor;
        setCounting({ state: cursor === undefined ? 'counted' : 'counting', count: items });
      } while (cursor !== undefined);
    };
    count().catch((error: unknown) => {
      if (!isAbort(error)) setCounting({ state: 'failed', problem: asServiceError(error) });
    });
    return () => aborting.abort();
  }, [isCounting, folder]);

  const start = () => setCounting({ state: 'counting', count: 0 });
  return (
    <span role="status">
      {counting.state === 'unasked' && <Button onClick={start}>{text.details.count}</Button>}
      {counting.state === 'counting' && text.folder.loadingMore({ count: counting.count })}
      {counting.state === 'counted' && text.folder.items({ count: counting.count })}
      {counting.state === 'failed' && (
        <>
          <p>{language.reasonOf(counting.problem)}</p>
          <Button onClick={start}>{text.controls.retry}</Button>
        </>
      )}
    </span>
  );
}
