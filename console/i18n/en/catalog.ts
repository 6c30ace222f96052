export const catalog = {
  title: 'Catalog',
  whose: 'Phone of the business',
  own: 'this account',
  show: 'Show',
  empty: 'This account shows no products.',
  lacks: 'The network of this instance has no catalogs.',
  hidden: 'Hidden',
  reviews: { approved: 'Approved', pending: 'In review', rejected: 'Rejected' },
};
