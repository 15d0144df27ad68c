import { disk } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { accessTable, REPRESENTATIVE_ROWS } from './table.ts';

// The permissions don't depend on the store. The memory store is tested in every situation, and in tests/long all stores.
accessTable(disk, {
  methods: ['a session'],
  brief: ['a session'],
  ...(!isFullForm && { rows: REPRESENTATIVE_ROWS }),
});
